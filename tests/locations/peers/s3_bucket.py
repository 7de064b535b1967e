"""Puts a folder into a bucket of an S3 server, with Amazon's own client.

    python3 s3_bucket.py put ENDPOINT BUCKET FOLDER PREFIX
"""
import concurrent.futures
import pathlib
import sys
import time

import boto3
from botocore.config import Config


def client(endpoint):
    return boto3.client("s3", endpoint_url=endpoint, aws_access_key_id="access", aws_secret_access_key="secret",
                        region_name="us-east-1", config=Config(max_pool_connections=64, retries={"max_attempts": 1}))


def put(endpoint, bucket, folder, prefix):
    s3, folder = client(endpoint), pathlib.Path(folder)
    s3.create_bucket(Bucket=bucket)
    prefix = prefix and f"{prefix}/"

    def one(path):
        with path.open("rb") as body:
            s3.put_object(Bucket=bucket, Key=f"{prefix}{path.relative_to(folder).as_posix()}", Body=body)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(one, sorted(path for path in folder.rglob("*") if path.is_file())))


def download(endpoint, bucket, connections):
    """Seconds and bytes of a plain parallel download that discards what it gets."""
    s3 = client(endpoint)
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def one(key):
        total = 0
        for piece in s3.get_object(Bucket=bucket, Key=key)["Body"].iter_chunks(1 << 20):
            total += len(piece)
        return total

    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(int(connections)) as pool:
        total = sum(pool.map(one, keys))
    return time.monotonic() - start, total


if __name__ == "__main__":
    put(*sys.argv[2:])
