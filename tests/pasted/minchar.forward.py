import numpy as np

hidden_size = 3
vocab_size = 4
inputs = [0, 2, 1]
targets = [2, 1, 3]
Wxh = np.array([[0.3, -0.5, 0.2, 0.7], [-0.4, 0.6, 0.1, -0.2], [0.8, 0.15, -0.35, 0.25]])
Whh = np.array([[0.2, -0.6, 0.4], [0.5, 0.3, -0.1], [-0.7, 0.45, 0.1]])
Why = np.array([[0.6, -0.3, 0.2], [-0.2, 0.5, 0.9], [0.1, -0.8, 0.3], [0.4, 0.7, -0.5]])
bh = np.array([[0.1], [-0.05], [0.2]])
by = np.array([[0.0], [0.1], [-0.1], [0.05]])
hprev = np.array([[0.1], [-0.2], [0.3]])

xs, hs, ys, ps = {}, {}, {}, {}
hs[-1] = np.copy(hprev)
loss = 0
# forward pass
for t in range(len(inputs)):
    xs[t] = np.zeros((vocab_size, 1))  # encode in 1-of-k representation
    xs[t][inputs[t]] = 1
    hs[t] = np.tanh(np.dot(Wxh, xs[t]) + np.dot(Whh, hs[t-1]) + bh)  # hidden state
    ys[t] = np.dot(Why, hs[t]) + by  # unnormalized log probabilities for next chars
    ps[t] = np.exp(ys[t]) / np.sum(np.exp(ys[t]))  # probabilities for next chars
    loss += -np.log(ps[t][targets[t], 0])  # softmax (cross-entropy loss)
