import numpy as np

# average-of-word-vectors classifier (fastText-like)
docs = [[0, 2, 2, 4], [1, 3], [4, 0, 1]]
labels = [1, 0, 2]
E = np.array([[0.1, -0.3], [0.4, 0.2], [-0.6, 0.5], [0.3, 0.8], [-0.2, -0.7]])
U = np.array([[0.5, -0.4], [0.2, 0.9], [-0.3, 0.1]])
c = np.array([0.0, 0.1, -0.1])

total = 0.0
for words, k in zip(docs, labels):
    h = E[words].mean(axis=0)
    s = U @ h + c
    m = np.max(s)
    lse = m + np.log(np.sum(np.exp(s - m)))
    total = total + (lse - s[k])
J = total / len(docs)
