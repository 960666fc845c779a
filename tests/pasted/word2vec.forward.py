import numpy as np


def softmax(x):
    x = x - np.max(x)
    e = np.exp(x)
    return e / np.sum(e)


centerWordVectors = np.array([[0.5, -1.2, 0.3], [1.1, 0.4, -0.7], [-0.3, 0.8, 1.5], [0.9, -0.6, 0.2]])
outsideVectors = np.array([[0.4, -0.3, 0.7], [-0.6, 0.5, 0.1], [0.3, 0.9, -0.2], [0.2, -0.8, 0.5]])
currentCenterWord = 2
outsideWords = [0, 3, 0]


def naiveSoftmaxLoss(centerWordVec, outsideWordIdx, outsideVectors):
    y_hat = softmax(np.dot(outsideVectors, centerWordVec))
    return -np.log(y_hat[outsideWordIdx])


loss = 0.0
for o in outsideWords:
    loss += naiveSoftmaxLoss(centerWordVectors[currentCenterWord], o, outsideVectors)
