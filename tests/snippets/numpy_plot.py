import time
import numpy as np
import matplotlib.pyplot as plt
from tqdm import tqdm
start = time.time()
x = np.linspace(-1, 1, 5)
w, b = 0.5, 0.1
losses = []
for epoch in tqdm(range(10)):
    y_hat = w * x + b
    loss = np.mean((y_hat - (2 * x + 1)) ** 2)
    losses.append(loss)
    dw = np.mean(2 * (y_hat - (2 * x + 1)) * x)
    db = np.mean(2 * (y_hat - (2 * x + 1)))
    w -= 0.1 * dw
    b -= 0.1 * db
fig, ax = plt.subplots(figsize=(4, 3))
ax.plot(losses)
plt.title("loss")
print(f"took {time.time() - start:.2f}s")
