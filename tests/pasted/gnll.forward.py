import numpy as np

X = np.array([[0.5, 1.0], [-1.0, 0.3], [0.8, -0.6], [0.1, 0.9], [-0.4, -0.7], [1.2, 0.2]])
y = np.array([0.7, -0.9, 0.2, 0.6, -1.1, 1.5])
params = {
    'mean': {'w': np.array([0.4, -0.2]), 'b': 0.1},
    'logvar': {'w': np.array([-0.3, 0.5]), 'b': -0.2},
}
l2 = 0.1

def predict(params, X):
    m = X @ params['mean']['w'] + params['mean']['b']
    s = X @ params['logvar']['w'] + params['logvar']['b']
    return m, s

m, s = predict(params, X)
nll = 0.5 * np.mean(s + (y - m) ** 2 * np.exp(-s))
reg = 0.5 * l2 * (np.dot(params['mean']['w'], params['mean']['w']) + np.dot(params['logvar']['w'], params['logvar']['w']))
loss = nll + reg
