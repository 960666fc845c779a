import math

# inputs x1,x2
x1 = 2.0
x2 = -0.5
# weights w1,w2
w1 = -0.7
w2 = 1.3
# bias of the neuron
b = 0.9
# first neuron
x1w1 = x1 * w1
x2w2 = x2 * w2
n1 = x1w1 + x2w2 + b
o1 = math.tanh(n1)
# second neuron reuses w1 and b, and x1 comes in once more
n2 = o1 * w1 + b
o2 = 1 / (1 + math.exp(-n2))
e = o2 - x1 * o1
L = e ** 2
