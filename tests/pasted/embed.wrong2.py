grads = {'E': np.zeros(E.shape), 'U': np.zeros(U.shape), 'c': np.zeros(c.shape)}
N = len(docs)
for i, words in enumerate(docs):
    # recompute the forward pass
    h = np.mean(E[words], axis=0)
    s = U.dot(h) + c
    prob = np.exp(s - s.max())
    prob /= prob.sum()
    prob[labels[i]] -= 1.0
    grads['U'] += np.outer(prob, h)
    grads['c'] += prob
    gh = U.T.dot(prob)
    grads['E'][words] += gh / len(words)

for name in grads:
    grads[name] /= N
