def naiveSoftmaxGradient(centerWordVec, outsideWordIdx, outsideVectors):
    y_hat = softmax(np.dot(outsideVectors, centerWordVec))
    delta = y_hat.copy()
    delta[outsideWordIdx] -= 1
    gradCenterVec = np.dot(outsideVectors.T, delta)
    gradOutsideVecs = np.outer(delta, centerWordVec)
    return gradCenterVec, gradOutsideVecs

gradCenterVecs = np.zeros(centerWordVectors.shape)
gradOutsideVectors = np.zeros(outsideVectors.shape)
for o in outsideWords:
    gradCenter, gradOutside = naiveSoftmaxGradient(centerWordVectors[currentCenterWord], o, outsideVectors)
    gradCenterVecs[currentCenterWord] += gradCenter
    gradOutsideVectors += gradOutside
