"use strict";
// P and Q of one player in a page: the port of mashq.protocol.score.reduce, and the only one. `shares` are the costs
// relative to the largest or to a reference, by resource; `weights` are added up in their order, as there.
function mashqScore(alpha, h, beta, shares, weights) {
  let p = 0;
  for (const [name, weight] of Object.entries(weights)) p += weight * shares[name];
  return { p, q: h === null ? null : beta ? alpha * h - beta * p : alpha * h };
}
