import numpy as np
np.random.seed(1)
N, D, H, C = 4, 3, 5, 2
X = np.random.randn(N, D)
y = np.array([0, 1, 1, 0])
params = {"W1": 0.01 * np.random.randn(D, H), "b1": np.zeros(H), "W2": 0.01 * np.random.randn(H, C), "b2": np.zeros(C)}
reg = 1e-3
for i in range(200):
    scores = np.maximum(0, X.dot(params["W1"]) + params["b1"]).dot(params["W2"]) + params["b2"]
    hidden = np.maximum(0, X.dot(params["W1"]) + params["b1"])
    exp_scores = np.exp(scores)
    probs = exp_scores / np.sum(exp_scores, axis=1, keepdims=True)
    logprobs = -np.log(probs[range(N), y])
    data_loss = np.sum(logprobs) / N
    loss = data_loss + 0.5 * reg * np.sum(params["W1"] * params["W1"])
    dscores = probs
    dscores[range(N), y] -= 1
    dscores /= N
    grads = {}
    grads["W2"] = hidden.T.dot(dscores)
    grads["b2"] = np.sum(dscores, axis=0)
    dhidden = dscores.dot(params["W2"].T)
    dhidden[hidden <= 0] = 0
    grads["W1"] = X.T.dot(dhidden) + reg * params["W1"]
    grads["b1"] = np.sum(dhidden, axis=0)
    for k in params:
        params[k] -= 1.0 * grads[k]
