"use strict";
// P and Q of one player: the only JavaScript port of mashq.protocol.score.reduce. `shares` are the costs by resource,
// relative to the largest or to a reference; `weights` are summed in their order, as in the original.
function mashqScore(alpha, h, beta, shares, weights) {
  let p = 0;
  for (const [name, weight] of Object.entries(weights)) p += weight * shares[name];
  return { p, q: h === null ? null : beta ? alpha * h - beta * p : alpha * h };
}
