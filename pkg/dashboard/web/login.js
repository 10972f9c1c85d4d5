// The login form says that the last token was refused.

if (location.search === "?refused") {
  document.getElementById("refused").textContent = "That is not the token of this page.";
  document.getElementById("token").setAttribute("aria-invalid", "true");
}
