#!/bin/bash
# A job array of workers for Slurm:
#
#	sbatch --array=1-100 --cpus-per-task=16 --time=4:00:00 deploy/slurm.sh
#
# Each job is a worker on one node. Jobs begin and end when Slurm likes: what a worker has not delivered is counted again. A worker
# takes the token of your own coordinator, because your home is on each node. For another token, set NQUEENS_JOIN=FILE before
# sbatch. docs/cluster.md says more. For PBS, which was not tried, replace the lines with #SBATCH by
# #PBS -J 1-100 and #PBS -l select=1:ncpus=16,walltime=4:00:00, and Slurm's variables by $NCPUS and $(hostname -s).
#SBATCH --job-name=nqueens
#SBATCH --ntasks=1
#SBATCH --output=nqueens-%A-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
# The worker gets SIGTERM at least 30 s before its time ends. It needs 2 s to deliver its counts.
#SBATCH --signal=B:TERM@30
set -eu

# The worker takes the place of this shell, so Slurm's signals reach it. It uses the processors of the job on this node. Workers
# on one node are one machine, which is important with --redundancy 2. A worker without work for 10 minutes gives the node back.
exec "${WORKER:-nqueens-worker}" --threads "$SLURM_CPUS_ON_NODE" --machine "$SLURMD_NODENAME" --idle-exit 10m
