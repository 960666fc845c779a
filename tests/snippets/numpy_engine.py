# engine with value/grad, functions as static ops, numpy inside, topological via list
import numpy as np
from typing import List, Optional, Callable

class Tensor:
    def __init__(self, data, requires_grad=False, depends_on=None):
        self.data = np.array(data) if not isinstance(data, np.ndarray) else data
        self.requires_grad = requires_grad
        self.depends_on = depends_on or []
        self.shape = self.data.shape
        self.grad = None
        if self.requires_grad:
            self.zero_grad()

    def zero_grad(self):
        self.grad = np.zeros_like(self.data, dtype=np.float64)

    def backward(self, grad=None):
        if grad is None:
            if self.shape == ():
                grad = np.array(1.0)
            else:
                raise RuntimeError("grad must be specified for non-0-tensor")
        self.grad = self.grad + grad
        for tensor, grad_fn in self.depends_on:
            tensor.backward(grad_fn(grad))

    def __mul__(self, other):
        return mul(self, ensure(other))
    def __sub__(self, other):
        return add(self, neg(ensure(other)))
    def __add__(self, other):
        return add(self, ensure(other))
    def __matmul__(self, other):
        return matmul(self, other)
    def sum(self):
        return tsum(self)

def ensure(t):
    return t if isinstance(t, Tensor) else Tensor(t)

def tsum(t):
    data = t.data.sum()
    requires_grad = t.requires_grad
    deps = [(t, lambda g: g * np.ones_like(t.data))] if requires_grad else []
    return Tensor(data, requires_grad, deps)

def mul(a, b):
    data = a.data * b.data
    deps = []
    if a.requires_grad:
        def grad_a(g):
            return g * b.data
        deps.append((a, grad_a))
    if b.requires_grad:
        def grad_b(g):
            return g * a.data
        deps.append((b, grad_b))
    return Tensor(data, a.requires_grad or b.requires_grad, deps)

def neg(t):
    return Tensor(-t.data, t.requires_grad, [(t, lambda g: -g)] if t.requires_grad else [])

def add(a, b):
    deps = []
    if a.requires_grad:
        deps.append((a, lambda g: g))
    if b.requires_grad:
        deps.append((b, lambda g: g))
    return Tensor(a.data + b.data, a.requires_grad or b.requires_grad, deps)

def matmul(a, b):
    deps = []
    if a.requires_grad:
        deps.append((a, lambda g: g @ b.data.T))
    if b.requires_grad:
        deps.append((b, lambda g: a.data.T @ g))
    return Tensor(a.data @ b.data, a.requires_grad or b.requires_grad, deps)

x = Tensor([[1.0, 2.0], [3.0, 4.0]])
w = Tensor([[0.5], [-1.0]], requires_grad=True)
b = Tensor([[0.1], [0.1]], requires_grad=True)
err = x @ w + b - [[1.0], [2.0]]
loss = (err * err).sum()
loss.backward()
print(w.grad, b.grad)
