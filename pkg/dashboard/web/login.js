// The login form says why the last token was refused.

const reasons = {
  "?refused": "That is not the token of this page.",
  "?slow": "Too many attempts. Wait a minute, then try again.",
};

const reason = reasons[location.search];
if (reason) {
  document.getElementById("refused").textContent = reason;
  document.getElementById("token").setAttribute("aria-invalid", "true");
}
