grads = {k: np.zeros_like(v) for k, v in params.items()}
dh_next = np.zeros(3)
for t in reversed(range(1, T + 1)):
    dh = 2 * (h[t] - target[t-1]) + dh_next

    # h = (1 - z) * h_prev + z * hh
    dhh = dh * z[t]
    dz = dh * (hh[t] - h[t-1])
    dh_prev = dh * (1 - z[t])

    # candidate
    dhh_in = dhh * (1 - hh[t] ** 2)
    grads['Wh'] += np.outer(dhh_in, x[t-1])
    grads['Uh'] += np.outer(dhh_in, r[t] * h[t-1])
    grads['bh'] += dhh_in
    drh = params['Uh'].T @ dhh_in
    dr = drh * h[t-1]
    dh_prev += drh * r[t]

    # reset gate
    dr_in = dr * r[t] * (1 - r[t])
    grads['Wr'] += np.outer(dr_in, x[t-1])
    grads['Ur'] += np.outer(dr_in, h[t-1])
    grads['br'] += dr_in
    dh_prev += params['Ur'].T @ dr_in

    # update gate
    dz_in = dz * z[t] * (1 - z[t])
    grads['Wz'] += np.outer(dz_in, x[t-1])
    grads['Uz'] += np.outer(dz_in, h[t-1])
    grads['bz'] += dz_in
    dh_prev += params['Uz'].T @ dz_in

    dh_next = dh_prev
