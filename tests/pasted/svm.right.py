dW = np.zeros(W.shape)  # initialize the gradient as zero

# compute the loss and the gradient
for i in range(num_train):
    scores = X[i].dot(W)
    correct_class_score = scores[y[i]]
    for j in range(num_classes):
        if j == y[i]:
            continue
        margin = scores[j] - correct_class_score + 1
        if margin > 0:
            dW[:, j] += X[i]
            dW[:, y[i]] -= X[i]

dW /= num_train
dW += 2 * reg * W
