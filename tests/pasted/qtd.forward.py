import numpy as np

states = np.array([[0.1, 0.5, -0.2], [0.8, -0.3, 0.4], [-0.6, 0.2, 0.9], [0.3, 0.3, -0.7]])
next_states = np.array([[0.2, 0.4, 0.0], [0.7, -0.1, 0.5], [-0.5, 0.1, 0.8], [0.0, 0.6, -0.4]])
actions = np.array([0, 1, 1, 0])
rewards = np.array([1.0, -0.5, 3.0, 0.2])
dones = np.array([0, 0, 1, 0])
gamma = 0.9
W1 = np.array([[0.4, -0.3, 0.2], [0.1, 0.6, -0.5], [-0.7, 0.2, 0.3]])
b1 = np.array([0.1, 0.0, 0.2])
W2 = np.array([[0.5, -0.4], [0.3, 0.7], [-0.2, 0.6]])
b2 = np.array([0.0, 0.1])
W1_target = np.array([[0.3, -0.2, 0.1], [0.2, 0.5, -0.4], [-0.6, 0.1, 0.2]])
W2_target = np.array([[0.4, -0.3], [0.2, 0.6], [-0.1, 0.5]])

def relu(x):
    return np.maximum(0, x)

q_next = relu(next_states @ W1_target) @ W2_target
targets = rewards + gamma * (1 - dones) * q_next.max(axis=1)

hidden = relu(np.einsum('bi,ih->bh', states, W1) + b1)
q = np.einsum('bh,ha->ba', hidden, W2) + b2
q_taken = q[np.arange(4), actions]
td_error = q_taken - targets
abs_td = np.abs(td_error)
huber = np.where(abs_td <= 1.0, 0.5 * td_error ** 2, abs_td - 0.5)
loss = huber.mean()
