import numpy as np
import torch
import torch.nn as nn
from collections import deque, namedtuple

Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward'))

class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)
    def push(self, *args):
        """Save a transition"""
        self.memory.append(Transition(*args))
    def sample(self, batch_size):
        return list(self.memory)[:batch_size]
    def __len__(self):
        return len(self.memory)

class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 4)
        self.layer2 = nn.Linear(4, n_actions)
    def forward(self, x):
        x = torch.relu(self.layer1(x))
        return self.layer2(x)

BATCH_SIZE, GAMMA, TAU = 3, 0.99, 0.005
policy_net, target_net = DQN(2, 2), DQN(2, 2)
for j, p in enumerate(policy_net.parameters()):
    p.data = torch.cos(torch.arange(p.numel(), dtype=p.dtype) * (j + 1)).reshape(p.shape)
target_net.load_state_dict(policy_net.state_dict())
memory = ReplayMemory(100)
for k in range(4):
    s = torch.tensor([[0.1 * k, -0.3]])
    nxt = None if k == 2 else torch.tensor([[0.2 * k, 0.5]])
    memory.push(s, torch.tensor([[k % 2]]), nxt, torch.tensor([float(k)]))

def optimize_model():
    if len(memory) < BATCH_SIZE:
        return
    transitions = memory.sample(BATCH_SIZE)
    batch = Transition(*zip(*transitions))
    non_final_mask = torch.tensor(tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool)
    non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    state_action_values = policy_net(state_batch).gather(1, action_batch)
    next_state_values = torch.zeros(BATCH_SIZE)
    with torch.no_grad():
        next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
    expected_state_action_values = (next_state_values * GAMMA) + reward_batch
    criterion = nn.SmoothL1Loss()
    loss = criterion(state_action_values, expected_state_action_values.unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()

optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-4, amsgrad=True)
optimize_model()
target_net_state_dict = target_net.state_dict()
policy_net_state_dict = policy_net.state_dict()
for key in policy_net_state_dict:
    target_net_state_dict[key] = policy_net_state_dict[key]*TAU + target_net_state_dict[key]*(1-TAU)
target_net.load_state_dict(target_net_state_dict)
