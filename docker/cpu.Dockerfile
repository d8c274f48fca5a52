# nmrgcl on a CPU:  docker build -f docker/cpu.Dockerfile -t nmrgcl .
#                   docker run --rm -v "$PWD:/data" nmrgcl embed molecules.csv --out x.parquet
FROM python:3.11-slim
RUN useradd --create-home user
COPY . /source
RUN pip install --no-cache-dir uv \
 && uv pip install --system --no-cache --torch-backend=cpu torch \
 && uv pip install --system --no-cache '/source[chem,pyg]' \
 && rm -rf /source
USER user
WORKDIR /data
ENTRYPOINT ["nmrgcl"]
