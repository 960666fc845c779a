dWf, dWi, dWc, dWo = np.zeros_like(Wf), np.zeros_like(Wi), np.zeros_like(Wc), np.zeros_like(Wo)
dbf, dbi, dbc, dbo = np.zeros_like(bf), np.zeros_like(bi), np.zeros_like(bc), np.zeros_like(bo)
dWy = np.zeros_like(Wy)
dby = np.zeros_like(by)
dh_next = np.zeros(H)
dc_next = np.zeros(H)

for t in range(T - 1, -1, -1):
    dy = yhat[t] - y[t]
    dWy += np.outer(dy, h[t])
    dby += dy

    dh = Wy.T @ dy + dh_next
    do = dh * np.tanh(c[t])
    do_raw = do * o[t] * (1 - o[t])
    dc = dh * o[t] * (1 - np.tanh(c[t]) ** 2) + dc_next

    di = dc * g[t]
    di_raw = di * i[t] * (1 - i[t])
    dg = dc * i[t]
    dg_raw = dg * (1 - g[t] ** 2)
    df = dc * c[t]
    df_raw = df * f[t] * (1 - f[t])

    dWf += np.outer(df_raw, z[t])
    dbf += df_raw
    dWi += np.outer(di_raw, z[t])
    dbi += di_raw
    dWc += np.outer(dg_raw, z[t])
    dbc += dg_raw
    dWo += np.outer(do_raw, z[t])
    dbo += do_raw

    dz = Wf.T @ df_raw + Wi.T @ di_raw + Wc.T @ dg_raw + Wo.T @ do_raw
    dh_next = dz[:H]
    dc_next = f[t] * dc
