# learned initialisation: differentiate through k steps of gradient descent
a = 1.7
c = 0.6
theta0 = 0.3
lr = 0.12
k = 4
target = 0.9

thetas = [theta0]
for step in range(k):
    th = thetas[-1]
    g = a * (th - c) + th ** 3      # gradient of the inner loss
    thetas.append(th - lr * g)
loss = 0.5 * (thetas[-1] - target) ** 2
