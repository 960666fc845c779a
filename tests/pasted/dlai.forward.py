import numpy as np

X = np.array([[0.5, -1.2, 0.3, 0.8], [1.1, 0.4, -0.7, -0.5]])
Y = np.array([[1, 0, 1, 0]])
parameters = {
    "W1": np.array([[0.4, -0.6], [0.7, 0.5], [-0.3, 0.9]]),
    "b1": np.array([[0.1], [-0.2], [0.05]]),
    "W2": np.array([[0.3, -0.8, 0.5], [0.6, 0.2, -0.4]]),
    "b2": np.array([[0.2], [0.3]]),
    "W3": np.array([[0.9, -0.7]]),
    "b3": np.array([[-0.1]]),
}


def sigmoid(Z):
    A = 1 / (1 + np.exp(-Z))
    cache = Z
    return A, cache


def relu(Z):
    A = np.maximum(0, Z)
    cache = Z
    return A, cache


def linear_forward(A, W, b):
    Z = np.dot(W, A) + b
    cache = (A, W, b)
    return Z, cache


def linear_activation_forward(A_prev, W, b, activation):
    if activation == "sigmoid":
        Z, linear_cache = linear_forward(A_prev, W, b)
        A, activation_cache = sigmoid(Z)
    elif activation == "relu":
        Z, linear_cache = linear_forward(A_prev, W, b)
        A, activation_cache = relu(Z)
    cache = (linear_cache, activation_cache)
    return A, cache


def L_model_forward(X, parameters):
    caches = []
    A = X
    L = len(parameters) // 2
    for l in range(1, L):
        A_prev = A
        A, cache = linear_activation_forward(A_prev, parameters["W" + str(l)], parameters["b" + str(l)], "relu")
        caches.append(cache)
    AL, cache = linear_activation_forward(A, parameters["W" + str(L)], parameters["b" + str(L)], "sigmoid")
    caches.append(cache)
    return AL, caches


def compute_cost(AL, Y):
    m = Y.shape[1]
    cost = -1 / m * np.sum(Y * np.log(AL) + (1 - Y) * np.log(1 - AL))
    cost = np.squeeze(cost)
    return cost


AL, caches = L_model_forward(X, parameters)
cost = compute_cost(AL, Y)
