// Starts Swagger UI without its top bar: the bar's logo brings a style element, which the page's policy refuses, and its address
// field leads to other documents, which the policy refuses too. The bar's switch for the dark colours is replaced by the system's choice.
const dark = matchMedia("(prefers-color-scheme: dark)");
const applyColours = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
applyColours();
dark.addEventListener("change", applyColours);

// @ts-expect-error swagger-ui-bundle.js defines it.
const swagger = SwaggerUIBundle;
swagger({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  layout: "BaseLayout",
  presets: [swagger.presets.apis],
  validatorUrl: "none",
});
