from __future__ import absolute_import
import autograd.numpy as np
from autograd import elementwise_grad as egrad
from autograd import grad, jacobian, hessian, value_and_grad
from autograd.scipy.special import logsumexp


def tanh(x):
    return (1.0 - np.exp((-2 * x))) / (1.0 + np.exp(-(2 * x)))


x = np.linspace(-2, 2, 5)
d1 = egrad(tanh)(x)
d2 = egrad(egrad(tanh))(x)
d3 = egrad(egrad(egrad(tanh)))(x)


def sigmoid(x):
    return 0.5 * (np.tanh(x / 2.) + 1)


def logistic_predictions(weights, inputs):
    # Outputs probability of a label being true according to logistic model.
    return sigmoid(np.dot(inputs, weights))


def training_loss(weights):
    # Training loss is the negative log-likelihood of the training labels.
    preds = logistic_predictions(weights, inputs)
    label_probabilities = preds * targets + (1 - preds) * (1 - targets)
    return -np.sum(np.log(label_probabilities))


# Build a toy dataset.
inputs = np.array([[0.52, 1.12,  0.77],
                   [0.88, -1.08, 0.15],
                   [0.52, 0.06, -1.30],
                   [0.74, -2.49, 1.39]])
targets = np.array([True, True, False, True])

# Define a function that returns gradients of training loss using Autograd.
training_gradient_fun = grad(training_loss)

# Optimize weights using gradient descent.
weights = np.array([0.0, 0.0, 0.0])
print("Initial loss:", training_loss(weights))
for i in range(3):
    weights -= training_gradient_fun(weights) * 0.01

print("Trained loss:", training_loss(weights))


def init_params(layer_sizes):
    return [(np.sin(np.arange(m * n)).reshape(m, n) * 0.5, np.cos(np.arange(n)) * 0.1)
            for m, n in zip(layer_sizes[:-1], layer_sizes[1:])]


def neural_net_predict(params, inputs):
    for W, b in params:
        outputs = np.dot(inputs, W) + b
        inputs = np.tanh(outputs)
    return outputs - logsumexp(outputs, axis=1, keepdims=True)


def l2_norm(params):
    return sum(np.sum(W ** 2) + np.sum(b ** 2) for W, b in params)


def log_posterior(params, inputs, targets, L2_reg):
    log_prior = -L2_reg * l2_norm(params)
    log_lik = np.sum(neural_net_predict(params, inputs) * targets)
    return log_prior + log_lik


params = init_params([3, 4, 2])
T = np.array([[1, 0], [0, 1], [1, 0], [0, 1]])


def objective(params, iter=0):
    return -log_posterior(params, inputs, T, 0.1)


nn_grad = grad(objective)(params)
obj, same = value_and_grad(objective)(params)
rosen = lambda v: (1 - v[0]) ** 2 + 100.0 * (v[1] - v[0] ** 2) ** 2
Hr = hessian(rosen)(np.array([-1.2, 1.0]))
Jr = jacobian(lambda v: np.array([v[0] * v[1], np.sin(v[0]), v[1] ** 2]))(np.array([0.5, 2.0]))
print(obj)
