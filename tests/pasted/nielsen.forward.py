import numpy as np

def sigmoid(z):
    return 1.0/(1.0+np.exp(-z))

weights = [np.array([[0.2, -0.4, 0.7], [0.5, 0.1, -0.3]]),
           np.array([[0.6, -0.8], [0.3, 0.9], [-0.2, 0.4]]),
           np.array([[0.1, 0.5, -0.7], [0.8, -0.6, 0.2]])]
biases = [np.array([[0.1], [-0.2]]), np.array([[0.0], [0.3], [-0.1]]), np.array([[0.2], [0.05]])]
mini_batch = [(np.array([[1.0], [0.5], [-0.5]]), np.array([[1.0], [0.0]])),
              (np.array([[-0.3], [0.8], [0.4]]), np.array([[0.0], [1.0]]))]

cost = 0.0
for x, y in mini_batch:
    a = x
    for b, w in zip(biases, weights):
        a = sigmoid(np.dot(w, a) + b)
    cost += 0.5 * np.sum((a - y) ** 2)
