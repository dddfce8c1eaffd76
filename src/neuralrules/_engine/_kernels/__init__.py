"""The kernels of the numba engine. They process a mini-batch in one fused pass.

How a batch is processed, and why this is fast:

- Rows are processed in tiles of ``TILE`` rows, which fill the lanes of vector registers. The
  literals of a rule are evaluated two at a time, with all sums in registers. `_compile` says
  how many rows fit into the registers of each CPU.
- The caller orders each batch so that rows of neighbouring leaves share a tile. Most rules are
  therefore inactive on a whole tile, and one or two pairs of literals show that. The other
  literals of such a rule are not computed. On each tile, a rule starts with the pair that
  showed this last time.
- A rule reads only its own columns, in the forward pass and in the backward pass.
- An active rule writes one short record for each row. The record names the smallest literal
  and its value. Only this literal gets a gradient (the "restricted gradients" of the paper),
  so the backward pass only reads the records.
- Threads share the *rules*, not the rows. Each thread owns some blocks of rules with their
  gradients and moments, so gradients are never added up across threads. Threads only exchange
  the contributions of the blocks to the outputs, which are added in the order of the blocks.
  The result is therefore the same to the bit for any number of threads.

No array has the size rows x literals, because a slice has at most ``SLICE`` rows.

A batch goes through the modules in this order: `_arrays` loads its rows, `_forward` evaluates
the rules, `_losses` computes the losses and slopes of the outputs, and `_train` computes the
gradient and takes the Adam step.
"""
