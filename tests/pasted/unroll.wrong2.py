dtheta = thetas[-1] - target
da = 0.0
dc = 0.0
dlr = 0.0
i = k - 1
while i >= 0:
    th = thetas[i]
    g = a * (th - c) + th ** 3
    # theta_next = th - lr * g
    dlr += -g * dtheta
    dg = -lr * dtheta
    da += dg * (th - c)
    dc += dg * (-a)
    dtheta = dtheta + dg * (a + 2 * th ** 2)
    i -= 1
dtheta0 = dtheta
print(f"d/dtheta0 = {dtheta0:.6f}, d/dlr = {dlr:.6f}")
