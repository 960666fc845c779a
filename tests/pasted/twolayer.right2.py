# 1/N only at the very end
N = X.shape[0]
onehot = np.zeros_like(scores)
for i in range(N):
    onehot[i, y[i]] = 1
delta3 = probs - onehot
dW2 = hidden_layer.T.dot(delta3)
db2 = delta3.sum(axis=0, keepdims=True)
delta2 = delta3.dot(W2.T) * (hidden_layer > 0)
dW1 = X.T.dot(delta2)
db1 = delta2.sum(axis=0, keepdims=True)
dW2 = dW2 / N + reg * W2
db2 = db2 / N
dW1 = dW1 / N + reg * W1
db1 = db1 / N
