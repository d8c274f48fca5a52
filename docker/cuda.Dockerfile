# nmrgcl on an NVIDIA GPU:  docker build -f docker/cuda.Dockerfile -t nmrgcl-cuda .
#                           docker run --rm --gpus all -v "$PWD:/data" nmrgcl-cuda pretrain NCI1 --out runs/nci1
# torch brings CUDA's libraries; Triton compiles kernels with gcc when they are first used.
FROM python:3.11-slim
RUN apt-get update && apt-get install --yes --no-install-recommends gcc libc6-dev && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home user
COPY . /source
RUN pip install --no-cache-dir uv \
 && uv pip install --system --no-cache --torch-backend=cu128 torch \
 && uv pip install --system --no-cache '/source[chem,pyg]' \
 && rm -rf /source
USER user
WORKDIR /data
ENTRYPOINT ["nmrgcl"]
