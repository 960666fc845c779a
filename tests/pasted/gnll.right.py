grads = {
    'mean': {'w': np.zeros(2), 'b': 0.0},
    'logvar': {'w': np.zeros(2), 'b': 0.0},
}
batch_size = 2
n = len(X)
start = 0
while start < n:
    xb = X[start:start + batch_size]
    yb = y[start:start + batch_size]
    mb, sb = predict(params, xb)
    r = yb - mb
    dm = -r * np.exp(-sb)
    ds = 0.5 - 0.5 * r ** 2 * np.exp(-sb)
    grads['mean']['w'] += xb.T @ dm
    grads['mean']['b'] += dm.sum()
    grads['logvar']['w'] += xb.T @ ds
    grads['logvar']['b'] += ds.sum()
    start += batch_size

for part in ('mean', 'logvar'):
    grads[part]['w'] = grads[part]['w'] / n + l2 * params[part]['w']
    grads[part]['b'] /= n

# numerical check of one entry
h = 1e-5
def loss_at(delta):
    w = params['mean']['w'].copy()
    w[0] += delta
    mm = X @ w + params['mean']['b']
    ss = X @ params['logvar']['w'] + params['logvar']['b']
    return 0.5 * np.mean(ss + (y - mm) ** 2 * np.exp(-ss)) + 0.5 * l2 * np.sum(w ** 2)
num = (loss_at(h) - loss_at(-h)) / (2 * h)
assert abs(num - grads['mean']['w'][0]) < 1e-6

lr = 0.05
for part in params:
    for key in params[part]:
        params[part][key] = params[part][key] - lr * grads[part][key]
