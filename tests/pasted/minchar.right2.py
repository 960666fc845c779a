T = len(inputs)
grads = {'Wxh': 0, 'Whh': 0, 'Why': 0, 'bh': 0, 'by': 0}
# first the gradients of the states, then the parameters in a loop of its own
dys, dhs, das = {}, {}, {}
for t in range(T - 1, -1, -1):
    dys[t] = ps[t].copy()
    dys[t][targets[t], 0] -= 1
    dhs[t] = Why.T @ dys[t]
    if t < T - 1:
        dhs[t] = dhs[t] + Whh.T @ das[t + 1]
    das[t] = dhs[t] * (1 - hs[t] ** 2)
for t in range(T):
    grads['Why'] = grads['Why'] + dys[t] @ hs[t].T
    grads['by'] = grads['by'] + dys[t]
    grads['Wxh'] = grads['Wxh'] + das[t] @ xs[t].T
    grads['Whh'] = grads['Whh'] + das[t] @ hs[t - 1].T
    grads['bh'] = grads['bh'] + das[t]
dWxh, dWhh, dWhy = grads['Wxh'], grads['Whh'], grads['Why']
dbh, dby = grads['bh'], grads['by']
