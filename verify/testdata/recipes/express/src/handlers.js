exports.list = async (req, res) => res.json([]);
exports.refund = async (req, res) => res.sendStatus(204);
