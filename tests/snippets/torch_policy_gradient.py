import torch
import torch.nn as nn
from torch.distributions import Categorical

policy = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
with torch.no_grad():
    for p in policy.parameters():
        p.copy_(torch.linspace(-0.6, 0.6, p.numel()).reshape(p.shape))

states = torch.tensor([[0.1, -0.2, 0.5], [0.7, 0.3, -0.1], [-0.4, 0.9, 0.2]])
actions = torch.tensor([0, 1, 1])
rewards = [1.0, 0.0, 2.0]
gamma = 0.9

returns = []
R = 0
for r in rewards[::-1]:
    R = r + gamma * R
    returns.insert(0, R)
returns = torch.tensor(returns)
returns = (returns - returns.mean()) / (returns.std() + 1e-8)

dist = Categorical(logits=policy(states))
log_probs = dist.log_prob(actions)
entropy = dist.entropy().mean()
loss = -(log_probs * returns).sum() - 0.01 * entropy
loss.backward()
print(loss.item(), [p.grad.norm().item() for p in policy.parameters()])
