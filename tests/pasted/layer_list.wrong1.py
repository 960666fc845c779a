grad = 2 * (out - Y) / len(layers)
for layer in reversed(layers):
    grad = layer.backward(grad)
dX = grad
for layer in layers:
    if hasattr(layer, 'W'):
        layer.W -= 0.1 * layer.dW
        layer.b -= 0.1 * layer.db
