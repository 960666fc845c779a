import numpy as np

X = np.array([[0.5, -1.2, 0.3], [1.1, 0.4, -0.7], [-0.3, 0.8, 1.5], [0.9, -0.6, 0.2]])
y = np.array([0, 2, 1, 2])
W = np.array([[0.4, -0.3, 0.7], [-0.6, 0.5, 0.1], [0.3, 0.9, -0.2]])
reg = 0.05

num_classes = W.shape[1]
num_train = X.shape[0]
loss = 0.0
for i in range(num_train):
    scores = X[i].dot(W)
    correct_class_score = scores[y[i]]
    for j in range(num_classes):
        if j == y[i]:
            continue
        margin = scores[j] - correct_class_score + 1  # note delta = 1
        if margin > 0:
            loss += margin

# Right now the loss is a sum over all training examples, but we want it
# to be an average instead so we divide by num_train.
loss /= num_train

# Add regularization to the loss.
loss += reg * np.sum(W * W)
