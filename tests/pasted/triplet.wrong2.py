def triplet_grad(Z, triplets, margin):
    gZ = np.zeros_like(Z)
    active = 0
    for (a, p, n) in triplets:
        ap = Z[a] - Z[p]
        an = Z[a] - Z[n]
        violation = np.dot(ap, ap) - np.dot(an, an) + margin
        if violation > 0:
            continue
        active += 1
        gZ[a] += 2 * ap - 2 * an      # = 2 (z_n - z_p)
        gZ[p] -= 2 * ap
        gZ[n] += 2 * an
    return gZ / len(triplets), active

gZ, n_active = triplet_grad(Z, triplets, margin)
gW = gZ.T @ X
gX = gZ @ W
velocity = np.zeros_like(W)
velocity = 0.9 * velocity - 0.05 * gW
W += velocity
