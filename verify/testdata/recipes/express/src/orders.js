const { Router } = require("express");
const { list, refund } = require("./handlers");

const router = Router();

router.get("/", list);
router.route("/:id/refund").post(refund);

module.exports = router;
