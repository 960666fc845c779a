import torch
def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()
def linreg(X, w, b):
    return torch.matmul(X, w) + b
def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2
X = torch.tensor([[1.0, 2.0], [0.5, -1.0], [0.3, 0.8]])
y = torch.tensor([4.0, 1.0, 0.5])
w = torch.tensor([[0.01], [-0.02]], requires_grad=True)
b = torch.zeros(1, requires_grad=True)
lr, num_epochs, net, loss = 0.03, 3, linreg, squared_loss
for epoch in range(num_epochs):
    l = loss(net(X, w, b), y)
    l.sum().backward()
    sgd([w, b], lr, 3)
    with torch.no_grad():
        train_l = loss(net(X, w, b), y)
        print(f'epoch {epoch + 1}, loss {float(train_l.mean()):f}')
