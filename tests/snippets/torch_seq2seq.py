import torch
import torch.nn as nn

PAD, SOS, EOS = 0, 1, 2
MAX_LEN = 5

def pad(seq, max_len=MAX_LEN):
    return seq + [PAD] * (max_len - len(seq))

class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, n_layers=1):
        super().__init__()
        self.embedding = nn.Embedding(input_size, hidden_size, padding_idx=PAD)
        self.gru = nn.GRU(hidden_size, hidden_size, n_layers, batch_first=True)

    def forward(self, input):
        embedded = self.embedding(input)
        output, hidden = self.gru(embedded)
        return output, hidden

class DecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size):
        super().__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.cell = nn.GRUCell(hidden_size, hidden_size)
        self.out = nn.Linear(hidden_size, output_size)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, dtype=torch.long).fill_(SOS)
        decoder_hidden = encoder_hidden[-1]
        decoder_outputs = []
        for i in range(target_tensor.size(1)):
            emb = torch.relu(self.embedding(decoder_input))
            decoder_hidden = self.cell(emb, decoder_hidden)
            scores = torch.bmm(encoder_outputs, decoder_hidden.unsqueeze(2)).squeeze(-1)
            weights = torch.softmax(scores, dim=-1)
            context = torch.einsum('bt,bth->bh', weights, encoder_outputs)
            decoder_outputs.append(self.out(decoder_hidden + context).unsqueeze(1))
            decoder_input = target_tensor[:, i]  # Teacher forcing
        return torch.cat(decoder_outputs, dim=1)

pairs = [([3, 4, 5, EOS], [4, 3, EOS]), ([5, 3, EOS], [3, 5, 4, EOS])]
src = torch.tensor([pad(s) for s, _ in pairs])
tgt = torch.tensor([pad(t) for _, t in pairs])

encoder = EncoderRNN(6, 2)
decoder = DecoderRNN(2, 6)
for m in (encoder, decoder):
    for name, p in m.named_parameters():
        if 'bias' in name:
            nn.init.constant_(p, 0.05)
        elif p.dim() > 1:
            p.data.copy_(torch.linspace(-0.8, 0.7, p.numel()).view(p.size()))

criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
enc_opt = torch.optim.Adam(encoder.parameters(), lr=0.01)
dec_opt = torch.optim.Adam(decoder.parameters(), lr=0.01)

total_loss = 0
for epoch in range(2):
    enc_opt.zero_grad()
    dec_opt.zero_grad()
    encoder_outputs, encoder_hidden = encoder(src)
    out = decoder(encoder_outputs, encoder_hidden, tgt)
    loss = criterion(out.view(-1, out.size(-1)), tgt.view(-1))
    loss.backward()
    torch.nn.utils.clip_grad_value_(decoder.parameters(), 0.5)
    enc_opt.step()
    dec_opt.step()
    total_loss += loss.item()
print(total_loss / 2)
