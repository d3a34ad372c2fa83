export const yourSettings = {};
