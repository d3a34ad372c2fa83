// Loaded by `prisma studio` alone, which is left out.
module.exports = {};
