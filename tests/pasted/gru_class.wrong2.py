class GRUBackward:
    def __init__(self, cell):
        self.cell = cell
        self.grads = {
            'Wz': np.zeros_like(cell.Wz),
            'Wr': np.zeros_like(cell.Wr),
            'Wh': np.zeros_like(cell.Wh),
        }

    def step(self, dh, cache):
        xh, z, r, xrh, hh, h_prev = cache
        n_in = len(xh) - len(h_prev)
        dhh = dh * z
        dz = dh * (hh - h_prev)
        dh_prev = dh * (1 - z)

        dah = dhh * (1 - hh ** 2)
        self.grads['Wh'] += np.outer(dah, xrh)
        dxrh = self.cell.Wh.T @ dah
        drh = dxrh[n_in:]
        dr = drh * h_prev
        dh_prev += drh

        daz = dz * z * (1 - z)
        dar = dr * r * (1 - r)
        self.grads['Wz'] += np.outer(daz, xh)
        self.grads['Wr'] += np.outer(dar, xh)
        dxh = self.cell.Wz.T @ daz + self.cell.Wr.T @ dar
        dh_prev += dxh[n_in:]
        return dh_prev

bw = GRUBackward(cell)
dh = h - target
for cache in reversed(cell.cache):
    dh = bw.step(dh, cache)
dWz = bw.grads['Wz']
dWr = bw.grads['Wr']
dWh = bw.grads['Wh']
dh0 = dh
