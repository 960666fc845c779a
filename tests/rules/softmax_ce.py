import numpy as np

def softmax_ce_forward(scores, y):
    N = scores.shape[0]
    shifted = scores - np.max(scores, axis=1, keepdims=True)
    exp = np.exp(shifted)
    probs = exp / np.sum(exp, axis=1, keepdims=True)
    loss = -np.sum(np.log(probs[np.arange(N), y])) / N
    return loss, (probs, y)

def softmax_ce_backward(cache):
    probs, y = cache
    N = probs.shape[0]
    dscores = probs.copy()
    dscores[np.arange(N), y] -= 1
    dscores /= N
    return dscores

rng = np.random.default_rng(0)
scores = rng.standard_normal((4, 3))
y = np.array([0, 2, 1, 1])
loss, cache = softmax_ce_forward(scores, y)
dscores = softmax_ce_backward(cache)
