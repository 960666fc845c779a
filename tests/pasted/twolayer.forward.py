import numpy as np

X = np.array([[0.5, -1.2, 0.3], [1.1, 0.4, -0.7], [-0.3, 0.8, 1.5], [0.9, -0.6, 0.2]])
y = np.array([0, 2, 1, 2])
W1 = np.array([[0.4, -0.3, 0.7, 0.2], [-0.6, 0.5, 0.1, -0.8], [0.3, 0.9, -0.2, 0.5]])
b1 = np.array([[0.1, -0.05, 0.2, 0.02]])
W2 = np.array([[0.2, -0.7, 0.4], [0.6, 0.3, -0.5], [-0.9, 0.8, 0.1], [0.35, -0.15, 0.75]])
b2 = np.array([[0.05, -0.1, 0.15]])
reg = 0.1
num_examples = X.shape[0]

# evaluate class scores
hidden_layer = np.maximum(0, np.dot(X, W1) + b1)  # note, ReLU activation
scores = np.dot(hidden_layer, W2) + b2

# compute the class probabilities
exp_scores = np.exp(scores)
probs = exp_scores / np.sum(exp_scores, axis=1, keepdims=True)  # [N x K]

# compute the loss: average cross-entropy loss and regularization
correct_logprobs = -np.log(probs[range(num_examples), y])
data_loss = np.sum(correct_logprobs) / num_examples
reg_loss = 0.5 * reg * np.sum(W1 * W1) + 0.5 * reg * np.sum(W2 * W2)
loss = data_loss + reg_loss
