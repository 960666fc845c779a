grads = {name: 0.0 for name in ["Wf", "Wi", "Wc", "Wo", "bf", "bi", "bc", "bo", "Wy", "by"]}


def step(t, dh_next, dc_next, grads):
    dy = yhat[t] - y[t]
    grads["Wy"] += np.outer(dy, h[t])
    grads["by"] += dy
    dh = Wy.T.dot(dy) + dh_next
    tc = np.tanh(c[t])
    dc = dc_next + dh * o[t] * (1 - tc * tc)
    gates = {
        "o": dh * tc * o[t] * (1 - o[t]),
        "f": dc * c[t - 1] * f[t] * (1 - f[t]),
        "i": dc * g[t] * i[t] * (1 - i[t]),
        "c": dc * i[t] * (1 - g[t] * g[t]),
    }
    dz = np.zeros(H + D)
    for name, W_ in (("o", Wo), ("f", Wf), ("i", Wi), ("c", Wc)):
        grads["W" + name] += np.outer(gates[name], z[t])
        grads["b" + name] += gates[name]
        dz += W_.T.dot(gates[name])
    return dz[:H], dc * f[t]


dh_next, dc_next = np.zeros(H), np.zeros(H)
t = T - 1
while t >= 0:
    dh_next, dc_next = step(t, dh_next, dc_next, grads)
    t -= 1
dWf, dWi, dWc, dWo = grads["Wf"], grads["Wi"], grads["Wc"], grads["Wo"]
dbf, dbi, dbc, dbo = grads["bf"], grads["bi"], grads["bc"], grads["bo"]
dWy, dby = grads["Wy"], grads["by"]
