import torch
import torch_npu
from torch_npu.contrib import transfer_to_npu

from rotary import Rotary


def precision(is_npu):
    return torch.float16 if is_npu else torch.bfloat16


def train(model, data, optimizer, seed):
    torch.manual_seed(seed)
    torch.backends.cudnn.benchmark = True
    model = model.cuda().to(precision(torch.npu.is_available()))
    for batch in data:
        loss = model(batch.cuda()).mean()
        loss.backward()
        optimizer.step()
