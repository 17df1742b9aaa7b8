"""Prints the shapes of cublaslt_*.json: the Linears of some models, M from 1.

    python3 cublaslt_shapes.py >shapes.txt
    zeroulp identify cublaslt --shapes shapes.txt --record cublaslt_h100.json
"""

# N x K, as torch.nn.Linear has them; projections that are often one are there
# as one, too.
LINEARS = {
    "DeepSeek-V3": [(1536, 7168), (576, 7168), (2112, 7168), (24576, 1536),
                    (32768, 512), (7168, 16384), (18432, 7168), (36864, 7168),
                    (7168, 18432), (2048, 7168), (4096, 7168), (7168, 2048),
                    (256, 7168)],
    "DeepSeek-V2-Lite": [(3072, 2048), (576, 2048), (4096, 512), (2048, 2048),
                         (10944, 2048), (21888, 2048), (2048, 10944),
                         (1408, 2048), (2816, 2048), (5632, 2048), (2048, 1408),
                         (2048, 2816)],
    "Llama 3 8B": [(4096, 4096), (1024, 4096), (6144, 4096), (14336, 4096),
                   (28672, 4096), (4096, 14336)],
    "Llama 3 70B": [(8192, 8192), (1024, 8192), (10240, 8192), (28672, 8192),
                    (57344, 8192), (8192, 28672)],
    "Qwen3 8B": [(12288, 4096), (24576, 4096), (4096, 12288)],
    "Qwen3 32B": [(8192, 5120), (1024, 5120), (10240, 5120), (5120, 8192),
                  (25600, 5120), (51200, 5120), (5120, 25600)],
    "Qwen3 235B-A22B": [(8192, 4096), (512, 4096), (9216, 4096), (4096, 8192),
                        (1536, 4096), (3072, 4096), (4096, 1536)],
}

for model, linears in LINEARS.items():
    print(f"# {model}")
    for n, k in linears:
        for m in (1 << i for i in range(15)):
            print(m, n, k)
