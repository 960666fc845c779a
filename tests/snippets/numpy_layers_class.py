import numpy as np


def affine_forward(x, w, b):
    """
    Computes the forward pass for an affine (fully-connected) layer.
    """
    out = None
    out = x.reshape(x.shape[0], -1).dot(w) + b
    cache = (x, w, b)
    return out, cache


def affine_backward(dout, cache):
    x, w, b = cache
    dx, dw, db = None, None, None
    dx = dout.dot(w.T).reshape(x.shape)
    dw = x.reshape(x.shape[0], -1).T.dot(dout)
    db = np.sum(dout, axis=0)
    return dx, dw, db


def relu_forward(x):
    out = np.maximum(0, x)
    cache = x
    return out, cache


def relu_backward(dout, cache):
    dx, x = None, cache
    dx = dout * (x > 0)
    return dx


def affine_relu_forward(x, w, b):
    a, fc_cache = affine_forward(x, w, b)
    out, relu_cache = relu_forward(a)
    cache = (fc_cache, relu_cache)
    return out, cache


def affine_relu_backward(dout, cache):
    fc_cache, relu_cache = cache
    da = relu_backward(dout, relu_cache)
    dx, dw, db = affine_backward(da, fc_cache)
    return dx, dw, db


def softmax_loss(x, y):
    shifted_logits = x - np.max(x, axis=1, keepdims=True)
    Z = np.sum(np.exp(shifted_logits), axis=1, keepdims=True)
    log_probs = shifted_logits - np.log(Z)
    probs = np.exp(log_probs)
    N = x.shape[0]
    loss = -np.sum(log_probs[np.arange(N), y]) / N
    dx = probs.copy()
    dx[np.arange(N), y] -= 1
    dx /= N
    return loss, dx


class FullyConnectedNet(object):
    def __init__(self, hidden_dims, input_dim=4, num_classes=3, reg=0.0,
                 weight_scale=1e-2, dtype=np.float64, seed=None):
        self.reg = reg
        self.num_layers = 1 + len(hidden_dims)
        self.dtype = dtype
        self.params = {}

        dims = np.hstack((input_dim, hidden_dims, num_classes))
        for i in range(self.num_layers):
            self.params['W%d' % (i + 1)] = (
                weight_scale * np.cos(np.arange(dims[i] * dims[i + 1])).reshape(dims[i], dims[i + 1]))
            self.params['b' + str(i + 1)] = 0.1 * np.ones(dims[i + 1])

        # Cast all parameters to the correct datatype
        for k, v in self.params.items():
            self.params[k] = v.astype(dtype)

    def loss(self, X, y=None):
        X = X.astype(self.dtype)
        mode = 'test' if y is None else 'train'

        scores = None
        caches = {}
        out = X
        for i in range(1, self.num_layers):
            out, caches[i] = affine_relu_forward(out, self.params['W' + str(i)], self.params['b' + str(i)])
        L = self.num_layers
        scores, caches[L] = affine_forward(out, self.params['W' + str(L)], self.params['b' + str(L)])

        if mode == 'test':
            return scores

        loss, grads = 0.0, {}
        loss, dout = softmax_loss(scores, y)
        for i in range(1, L + 1):
            loss += 0.5 * self.reg * np.sum(self.params['W' + str(i)] ** 2)

        dout, grads['W' + str(L)], grads['b' + str(L)] = affine_backward(dout, caches[L])
        grads['W' + str(L)] += self.reg * self.params['W' + str(L)]
        for i in reversed(range(1, L)):
            dout, grads['W' + str(i)], grads['b' + str(i)] = affine_relu_backward(dout, caches[i])
            grads['W' + str(i)] += self.reg * self.params['W' + str(i)]
        return loss, grads


X = np.linspace(-0.5, 1.2, num=12).reshape(3, 4)
y = np.array([0, 2, 1])
model = FullyConnectedNet([5, 4], input_dim=4, num_classes=3, reg=3.14, weight_scale=0.5)
loss, grads = model.loss(X, y)
print('Initial loss: ', loss)
for name in sorted(grads):
    print(name, np.linalg.norm(grads[name]))
