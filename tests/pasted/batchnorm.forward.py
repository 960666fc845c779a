import numpy as np

x = np.array([[0.5, -1.2, 0.3], [1.1, 0.4, -0.7], [-0.3, 0.8, 1.5], [0.9, -0.6, 0.2]])
gamma = np.array([1.2, 0.8, -0.5])
beta = np.array([0.1, -0.3, 0.2])
target = np.array([[0.2, -0.4, 0.1], [0.7, 0.3, -0.2], [-0.5, 0.6, 0.9], [0.4, 0.0, -0.8]])
eps = 1e-5
N, D = x.shape

# step1: calculate mean
mu = 1. / N * np.sum(x, axis=0)
# step2: subtract mean vector of every trainings example
xmu = x - mu
# step3: following the lower branch - calculation denominator
sq = xmu ** 2
# step4: calculate variance
var = 1. / N * np.sum(sq, axis=0)
# step5: add eps for numerical stability, then sqrt
sqrtvar = np.sqrt(var + eps)
# step6: invert sqrtwar
ivar = 1. / sqrtvar
# step7: execute normalization
xhat = xmu * ivar
# step8: Nor the two transformation steps
gammax = gamma * xhat
# step9
out = gammax + beta

loss = 0.5 * np.sum((out - target) ** 2)
