import torch
import torch.nn as nn

class CharModel(nn.Module):
    def __init__(self, vocab, hidden):
        super(CharModel, self).__init__()
        self.hidden = hidden
        self.emb = nn.Embedding(vocab, hidden)
        self.cell = nn.LSTMCell(hidden, hidden)
        self.head = nn.Linear(hidden, vocab)

    def forward(self, tokens, state=None):
        h = torch.zeros(1, self.hidden)
        c = torch.zeros(1, self.hidden)
        logits = []
        for i in range(tokens.size(0)):
            h, c = self.cell(self.emb(tokens[i]).unsqueeze(0), (h, c))
            logits.append(self.head(h))
        return torch.cat(logits, dim=0), (h, c)

model = CharModel(5, 4)
tokens = torch.tensor([0, 3, 1])
targets = torch.tensor([3, 1, 4])
logits, _ = model(tokens)
loss = nn.CrossEntropyLoss()(logits, targets)
loss.backward()
for name, p in model.named_parameters():
    print(name, p.grad.norm())
