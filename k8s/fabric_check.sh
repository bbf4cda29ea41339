# Proves on one GPU node that the pod sees the GPUs and EFA interfaces that it asked for. Each message says what was
# expected and what was found; the last one becomes the container's termination message.
set -uo pipefail
export PATH="$PATH:/opt/amazon/efa/bin"

fail() {
  echo "fabric check on node ${NODE_NAME}: $1" | tee "${TERMINATION_LOG:-/dev/termination-log}"
  exit 1
}

listing=$(nvidia-smi --query-gpu=driver_version --format=csv,noheader) ||
  fail "nvidia-smi failed: the node has no NVIDIA driver, or the NVIDIA device plugin gave no GPU"
gpus=$(wc -l <<<"$listing")
[ "$gpus" -eq "$EXPECTED_GPUS" ] ||
  fail "expected $EXPECTED_GPUS GPUs, nvidia-smi lists $gpus: replace the node"
driver=${listing%%.*}
[ "$driver" -ge "$MINIMUM_DRIVER" ] ||
  fail "expected NVIDIA driver $MINIMUM_DRIVER or newer for the image's CUDA, found $driver: use a newer AMI release"

providers=$(fi_info -p efa -t FI_EP_RDM) ||
  fail "fi_info finds no EFA provider: the pod got no EFA interface, or the security group lacks its self rules"
interfaces=$(grep -o 'domain: .*' <<<"$providers" | sort -u | wc -l)
[ "$interfaces" -ge "$EXPECTED_EFA_INTERFACES" ] ||
  fail "expected $EXPECTED_EFA_INTERFACES EFA interfaces, fi_info lists $interfaces: check the launch template"

echo "node ${NODE_NAME}: $gpus GPUs, driver $driver, $interfaces EFA interfaces"
